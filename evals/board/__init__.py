"""The board: selectors of tools side by side, on the same questions, with the same measures."""
