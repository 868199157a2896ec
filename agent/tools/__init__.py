"""What a model may call: typed functions with their schemas, in a toolbox."""

from agent.tools.arguments import BadArguments, Parameter
from agent.tools.tool import Arg, Tool, ToolError, ToolOutcome, ToolRefusal
from agent.tools.toolbox import MAX_ERROR_CHARS, FunctionTools, NoTools, Prepared, Toolbox, prepare, tool_list

__all__ = [
    "MAX_ERROR_CHARS",
    "Arg",
    "BadArguments",
    "FunctionTools",
    "NoTools",
    "Parameter",
    "Prepared",
    "Tool",
    "ToolError",
    "ToolOutcome",
    "ToolRefusal",
    "Toolbox",
    "prepare",
    "tool_list",
]
