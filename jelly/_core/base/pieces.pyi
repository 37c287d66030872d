"""Fields that are set again or come in pieces, merged as Protocol Buffers asks for it. Writers do not make such fields."""
