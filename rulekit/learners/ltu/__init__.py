"""Linear threshold units in trees and in Madaline networks (M. Sahami, Learning Non-Linearly Separable Functions)."""
