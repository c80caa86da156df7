"""Words to terms to evidence in one native call, where an extension is built; else Python."""
