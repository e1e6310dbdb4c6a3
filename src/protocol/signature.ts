/** What both sides of a request signature agree on. Source: interface.md "Request signature (optional)". */

/** The first of the six lines that are signed. */
export const signatureLabel = "TWP1-HMAC-SHA256"
