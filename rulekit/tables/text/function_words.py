"""Function words: words of English that say how others hang together, which no rule about a text should name.

A short list of our own: articles, pronouns, prepositions, conjunctions and auxiliary verbs, as tokens, and the ends
that an apostrophe leaves (`don't` is `don`, and `t` is too short to be a token). Negations and numbers
are no part of it.
"""

FUNCTION_WORDS = frozenset(
    (
        # articles and determiners
        *("an", "the", "this", "that", "these", "those", "such", "each", "every", "any", "some", "both", "either"),
        # pronouns
        *("he", "she", "it", "we", "you", "they", "him", "her", "us", "them", "me", "my", "your", "his", "its", "our"),
        *("their", "mine", "yours", "hers", "ours", "theirs", "who", "whom", "whose", "which", "what", "itself"),
        *("myself", "yourself", "himself", "herself", "ourselves", "themselves"),
        # prepositions
        *("of", "in", "on", "at", "to", "for", "from", "by", "with", "about", "into", "onto", "upon", "as", "than"),
        *("through", "during", "between", "among", "via", "per"),
        # conjunctions and adverbs of place and time that join sentences
        *("and", "or", "but", "if", "so", "because", "while", "when", "where", "how", "why", "whether", "then"),
        *("there", "here", "also", "too", "very", "just"),
        # auxiliary verbs
        *("am", "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "doing", "done", "has", "have"),
        *("had", "having", "will", "would", "shall", "should", "can", "could", "may", "might", "must"),
        # ends behind an apostrophe
        *("ll", "re", "ve", "don", "doesn", "didn", "isn", "aren", "wasn", "weren", "hasn", "haven", "hadn", "won"),
    )
)
