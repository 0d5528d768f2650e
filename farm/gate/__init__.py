"""The gate: criteria that a run's monitors have to meet, judged by how sure the evidence is."""
