"""See canonical_labels.pxd. Numbers such as 4.8.3 are sections of the Recommendation.

Hash N-Degree Quads recurses without a bound, so it has an explicit stack here. An issuer only ever grows,
and a copy of it is dropped or becomes the issuer: so there is one list of issued labels, and a copy is its length.
"""
