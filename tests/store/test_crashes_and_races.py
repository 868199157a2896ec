"""Several processes at one shop, killed processes, full disks and locked files."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, text

import store
from tests.store import workers

ROUNDS = 200
KILLS = 20


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.store.workers"])
    return context


def test_two_processes_adding_the_last_copy_have_one_success_every_time(
    processes: ForkServerContext, shop: Engine, file: Path
) -> None:
    store.set_stock(shop, 7, 1, by="test")
    start = processes.Barrier(2)
    pipes = [processes.Pipe() for _ in range(2)]
    jobs = [
        processes.Process(target=workers.add_last_copy, args=(f"sqlite:///{file}", name, ROUNDS, start, pipe[1]))
        for name, pipe in zip(("first", "second"), pipes, strict=True)
    ]
    for job in jobs:
        job.start()
    wins = [sum(pipe[0].recv() for pipe in pipes) for _ in range(ROUNDS)]
    for job in jobs:
        job.join()
    assert wins == [1] * ROUNDS
    assert store.check_shop(shop) == []
    assert len(store.changes_since(shop, {"cart:1": 0})) == 2 * ROUNDS


def test_eight_writing_processes_are_never_told_that_the_shop_is_busy(
    processes: ForkServerContext, shop: Engine, file: Path
) -> None:
    start = processes.Barrier(8)
    pipes = [processes.Pipe() for _ in range(8)]
    jobs = [
        processes.Process(target=workers.add_many, args=(f"sqlite:///{file}", str(number), 40, start, pipe[1]))
        for number, pipe in enumerate(pipes, start=1)
    ]
    for job in jobs:
        job.start()
    assert [pipe[0].recv() for pipe in pipes] == [40] * 8
    for job in jobs:
        job.join()
    assert store.latest_change(shop) == 8 * 40 * 2
    assert store.check_shop(shop) == []


def test_a_killed_process_leaves_nothing_half_written_and_loses_nothing_acknowledged(
    processes: ForkServerContext, shop: Engine, file: Path
) -> None:
    store.set_stock(shop, 7, 10_000, by="test")
    chance = random.Random(7)
    for kill in range(KILLS):
        ours, theirs = processes.Pipe()
        job = processes.Process(target=workers.add_for_ever, args=(f"sqlite:///{file}", f"run{kill}", theirs))
        job.start()
        theirs.close()
        keys = [ours.recv() for _ in range(chance.randrange(1, 60))]
        job.kill()
        job.join()
        keys += list(_left_in(ours))
        assert all(store.applied_write(shop, key) for key in keys)
        assert store.check_shop(shop) == []
    with shop.connect() as connection:
        added = connection.execute(text("SELECT count(*) FROM applied_write")).scalar()
        changed = connection.execute(text("SELECT count(*) FROM shop_change WHERE after LIKE '% × %'")).scalar()
    assert added == changed


def _left_in(pipe: multiprocessing.connection.Connection) -> Iterator[str]:
    try:
        while True:
            yield pipe.recv()
    except EOFError:
        pipe.close()


def test_a_full_disk_saves_nothing_says_so_and_is_got_over(file: Path) -> None:
    shop = store.open_shop(f"sqlite:///{file}")
    size = file.stat().st_size // 4096

    def fill(connection: sqlite3.Connection, _entry: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {size + 2}")

    event.listen(shop, "connect", fill)
    added = 0
    with pytest.raises(store.ShopUnavailable, match="the disk is full; nothing was saved"):
        for added in range(2_000):
            store.add_to_cart(shop, 1, 7, by="test", key=f"{added}".ljust(250))
            store.clear_cart(shop, 1, by="test")
    held = len(store.view_cart(shop, 1).lines)
    assert store.check_stock(shop, 7).in_stock == 15
    assert [hit.id for hit in store.search_books(shop, "The Quiet Orchard", 1).books] == [7]
    shop.dispose()
    roomy = store.open_shop(f"sqlite:///{file}")
    assert store.check_shop(roomy) == []
    again = store.add_to_cart(roomy, 1, 7, by="test", key=f"{added}".ljust(250))
    assert (again.replayed, store.view_cart(roomy, 1).lines[0].quantity) == (bool(held), 1)
    roomy.dispose()


def test_a_shop_opened_for_reading_only_is_searched_and_refuses_to_sell(file: Path) -> None:
    shop = store.open_shop(f"sqlite:///file:{file}?mode=ro&uri=true")
    assert store.search_books(shop, "The Quiet Orchard").books[0].id == 7
    assert store.view_cart(shop, 1).lines == ()
    with pytest.raises(store.ShopUnavailable, match="reading only; nothing was changed"):
        store.add_to_cart(shop, 1, 7, by="test")
    shop.dispose()


def test_reads_do_not_wait_for_a_writer_and_writes_give_up_in_words(shop: Engine, file: Path) -> None:
    event.listen(shop, "connect", lambda connection, _entry: connection.execute("PRAGMA busy_timeout = 50"))
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE book SET stock = 3 WHERE id = 7")
        assert store.check_stock(shop, 7).in_stock == 15
        assert store.search_books(shop, "orchard").books
        assert store.view_cart(shop, 1).version == 0
        with pytest.raises(store.ShopUnavailable, match="busy with other writers; nothing was changed"):
            store.add_to_cart(shop, 1, 7, by="test")
        other.execute("COMMIT")
    assert store.check_stock(shop, 7).in_stock == 3


def test_text_that_is_no_text_any_more_is_reported_in_words(shop: Engine) -> None:
    with shop.begin() as connection:
        connection.execute(text("UPDATE book SET title = CAST(x'ff61' AS TEXT) WHERE id = 7"))
    with pytest.raises(store.ShopUnavailable) as caught:
        store.check_stock(shop, 7)
    assert "SELECT" not in str(caught.value)


def test_work_that_fails_is_undone(shop: Engine) -> None:
    from store.database import transact

    def fail_late(db) -> None:
        db.execute(text("UPDATE book SET stock = 99"))
        raise LookupError

    with pytest.raises(LookupError):
        transact(shop, fail_late)
    assert store.check_stock(shop, 7).in_stock == 15
