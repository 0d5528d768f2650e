"""From measures to claims: which monitor is better, on which faults, by how much and how sure."""
