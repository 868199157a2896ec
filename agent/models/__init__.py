"""Language models: what the loop asks of one, and the models that answer."""

from agent.models.protocol import ChatModel, Delta, DeltaKind, Message, MessageCall, ModelStream

__all__ = ["ChatModel", "Delta", "DeltaKind", "Message", "MessageCall", "ModelStream"]
