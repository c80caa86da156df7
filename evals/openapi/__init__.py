"""Operations of public APIs: what documents are read to, and whether requests find them."""
