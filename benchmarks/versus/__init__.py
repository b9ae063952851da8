"""Assay against the strongest peers: same data, same machine, same run."""
