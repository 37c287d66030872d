"""Well-formed language tags by RFC 5646 (BCP 47), section 2.1."""

def is_language_tag(tag: bytes) -> bool:
    """Whether a text in UTF-8 is a well-formed language tag (RFC 5646, section 2.1).

    >>> is_language_tag(b"en-GB"), is_language_tag(b"en_GB")
    (True, False)
    """
