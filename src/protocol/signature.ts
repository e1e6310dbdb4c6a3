/** Constants of request signatures. Source: interface.md "Request signature (optional)". */

/** The first of the six signed lines. */
export const signatureLabel = "TWP1-HMAC-SHA256"
