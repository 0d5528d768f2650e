"""Campaigns: many cells, never computed twice, never lost, on one machine or many."""
