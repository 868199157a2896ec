"""Names of models: the tag ``latest`` may be left out."""


def same_model(one: str, other: str) -> bool:
    """Whether two names mean the same model."""
    return full_name(one) == full_name(other)


def full_name(name: str) -> str:
    """A name with its tag."""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"
