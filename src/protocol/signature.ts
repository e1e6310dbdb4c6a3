/** Constants of request signatures. */

/** The first of the six signed lines. */
export const signatureLabel = "TWP1-HMAC-SHA256"
