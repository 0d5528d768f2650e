"""Classification and localization under shift: can a network's uncertainty be trusted, and what does it cost?

Diet, Kassem Sbeyti, Karg, "Prediction accuracy and reliability: classification and object localization under
distribution shift", 2024.
"""
