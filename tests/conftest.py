"""What tests of several packages share: a shop on a real file, and its archive."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from sqlalchemy import Engine

import store
from agent.archive import Archive
from assistant.bookshop import Bookshop

pytest.register_assert_rewrite("tests.agent.playing")
settings.register_profile("no deadline", deadline=None)  # how long an example takes says more of the machine
settings.load_profile("no deadline")


@pytest.fixture(scope="session")
def seed_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A freshly seeded shop with the archive's tables; copy it, never write to it."""
    path = tmp_path_factory.mktemp("seed") / "shop.db"
    shop = Bookshop(store.open_shop(f"sqlite:///{path}"))
    shop.archive.create()
    shop.close()
    return path


@pytest.fixture
def engine(seed_file: Path, tmp_path: Path) -> Iterator[Engine]:
    """A seeded shop of this test's own."""
    path = shutil.copy(seed_file, tmp_path / "glass.db")
    engine = store.open_shop(f"sqlite:///{path}")
    yield engine
    engine.dispose()


@pytest.fixture
def bookshop(engine: Engine) -> Bookshop:
    """That shop as page and terminal use it."""
    return Bookshop(engine)


@pytest.fixture
def archive(bookshop: Bookshop) -> Archive:
    """The conversations kept in that shop's database."""
    return bookshop.archive
