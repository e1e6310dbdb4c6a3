/** Conservative token counts by bytes, used when there are no exact ones. */

/** Text has about four bytes per token; three is conservative. */
const bytesPerToken = 3

/** Tokens of a text with this many UTF-8 bytes. */
export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / bytesPerToken)

/** The most tokens that a vendor may count where {@link tokensOfBytes} counts these: no token is shorter than a byte. */
export const mostTokensOf = (counted: number): number => counted * bytesPerToken
