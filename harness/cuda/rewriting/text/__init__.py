"""The text being rewritten: tokens, syntax trees and edits."""
