"""The offline stand-in: rules, not a language model, that read the request and the tools' results for real."""

from assistant.offline.stand_in import OfflineModel

__all__ = ["OfflineModel"]
