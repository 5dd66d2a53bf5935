"""A service in memory: one model that decides on loans, and a token for each role."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from rulekit_serve.access import ROLES, new_token
from rulekit_serve.app import application
from rulekit_serve.deciding import Service
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database

from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph

RULES = """rulekit rules 1
column amount: numeric
column age: numeric
column city: categorical {here, there}
label granted: {no, yes}
default no
decide yes when any of (
  amount > 1000 and age <= 30,
  city in {there},
)
"""
OTHER = RULES.replace("amount > 1000", "amount > 2000")
ROW = {"amount": 1500, "age": 25, "city": "here"}


def loans(text: str = RULES) -> RuleGraph:
    """A small model, of a rule text."""
    return parse_graph(text)


@dataclass(frozen=True)
class Running:
    """A client of a running service, and the header of each role's token."""

    client: TestClient
    service: Service
    as_: dict[str, dict[str, str]]

    def score(self, rows: list[dict[str, Any]], **headers: str) -> Any:
        return self.client.post("/score/loans", json=rows, headers=self.as_["score"] | headers)


def running(folder: Path, database: str = "", **settings: Any) -> Iterator[Running]:
    """A service on a new database with the model `loans`, which is champion."""
    own = replace(Settings(folder, database), **settings)
    tables = Database(own.url)
    tables.ensure()
    bearer = {role: {"Authorization": f"Bearer {new_token(tables, role, (role,))}"} for role in ROLES}
    app = application(own)
    with TestClient(app, raise_server_exceptions=False) as client:
        service = app.state.service
        digest = service.registry.add("loans", loans(), "test", "test")
        service.registry.move("loans", "champion", digest, "test", "first", "")
        yield Running(client, service, bearer)
