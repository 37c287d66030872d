"""IRIs by RFC 3987, with a scheme (RDF 1.1 Concepts, section 3.2)."""
