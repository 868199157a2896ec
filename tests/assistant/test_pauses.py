"""What is planned for a run happens once, though the run waits for a person in the middle."""

from decimal import Decimal

import store
from agent.loop.tool_call import Approval
from agent.models.scripted import ScriptedModel, call, say
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.faults import Fault
from assistant.meanwhile import Plan
from assistant.settings import Settings


def test_faults_and_plans_do_not_begin_again_after_a_pause(bookshop: Bookshop) -> None:
    settings = Settings(
        approve_above=Decimal(0), faults={"check_stock": Fault.TIMEOUT}, meanwhile=Plan.read("2:stock 9 3")
    )
    look, add = call("check_stock", book_id=7), call("add_to_cart", book_id=7)
    model = ScriptedModel("test", [look, look, add, call("check_stock", book_id=9), say("Done.")])
    conversation = Conversation()
    for _ in bookshop.agent(model, 1, conversation, settings).stream(conversation, "Add it."):
        pass
    assert conversation.run.waiting
    store.set_stock(bookshop.engine, 9, 8, by="warehouse")
    agent = bookshop.agent_of(model, 1, conversation)
    for _ in agent.resume(conversation, Approval(approved=True, by="test")):
        pass
    finished = [event for event in conversation.events if event.kind == "tool_finished"]
    assert [event.ok for event in finished] == [False, True, True, True]
    assert store.check_stock(bookshop.engine, 9).in_stock == 8
