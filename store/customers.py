"""The customers of the shop."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, select
from sqlmodel import col

from store.engine import read
from store.models import Customer


@dataclass(frozen=True)
class Person:
    """A customer as a list to choose from shows them."""

    id: int
    name: str
    email: str


def list_customers(engine: Engine) -> list[Person]:
    """List the customers by id."""
    with read(engine) as db:
        rows = db.execute(
            select(col(Customer.id), col(Customer.name), col(Customer.email)).order_by(col(Customer.id))
        )
        return [Person(*row) for row in rows]
