"""An agent loop to see through: what a reader imports who lifts this package out. See README for ten lines."""

from agent.archive import Archive, run_turn
from agent.guards.limits import Limits
from agent.loop.agent import Agent
from agent.models import ChatModel
from agent.tools import Arg, FunctionTools, Tool, Toolbox, ToolError, ToolOutcome
from agent.views.conversation import Conversation
from agent.views.result import AgentResult

__all__ = [
    "Agent",
    "AgentResult",
    "Archive",
    "Arg",
    "ChatModel",
    "Conversation",
    "FunctionTools",
    "Limits",
    "Tool",
    "ToolError",
    "ToolOutcome",
    "Toolbox",
    "run_turn",
]
