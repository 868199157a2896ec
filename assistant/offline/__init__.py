"""The offline stand-in: rules, not a language model, that read the request and the tools' results for real."""

from assistant.offline.model import OfflineModel

__all__ = ["OfflineModel"]
