"""A run of the Lighthouse job, for what is drawn from its events."""

from collections.abc import Sequence

import pytest

from agent.conversation import Conversation
from agent.trace import AnyEvent
from assistant.bookshop import Bookshop
from assistant.settings import Settings
from lab.scripts import scripted_models

JOB = "Add The Last Lighthouse to my cart. If it is not available, add another novel by the same author."


@pytest.fixture
def lighthouse(bookshop: Bookshop) -> Sequence[AnyEvent]:
    """The events of the Lighthouse job: five steps, four calls."""
    conversation = Conversation()
    bookshop.agent(scripted_models()["script:lighthouse"], 1, conversation, Settings()).run(conversation, JOB)
    return conversation.run_events()
