"""What other processes do to a shop in the tests of crashes and races."""

from __future__ import annotations

from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

import store


def add_last_copy(url: str, name: str, rounds: int, start: Barrier, answers: Connection) -> None:
    """Try to add the last copy of book 7 to one cart, at a barrier, and tell each time whether it worked."""
    shop = store.open_shop(url)
    for number in range(rounds):
        start.wait()
        try:
            store.add_to_cart(shop, 1, 7, by=name, key=f"{name}-{number}")
            answers.send(True)
        except store.NotEnough:
            answers.send(False)
        start.wait()
        if name == "first":
            store.clear_cart(shop, 1, by=name)
    shop.dispose()


def add_for_ever(url: str, name: str, acknowledged: Connection) -> None:
    """Add and take out copies until killed, telling each key after its add was answered."""
    shop = store.open_shop(url)
    for number in count():
        if number % 30 == 0:
            for customer in (1, 2, 3):
                store.clear_cart(shop, customer, by=name)
        key = f"{name}-{number}"
        store.add_to_cart(shop, 1 + number % 3, 7, by=name, key=key)
        acknowledged.send(key)


def add_many(url: str, name: str, times: int, start: Barrier, answers: Connection) -> None:
    """Add to a cart of its own many times and tell how many worked."""
    shop = store.open_shop(url)
    customer = int(name)
    start.wait()
    for number in range(times):
        store.add_to_cart(shop, customer, 7, by=name, key=f"{name}-{number}")
        store.clear_cart(shop, customer, by=name)
    answers.send(times)
    shop.dispose()
