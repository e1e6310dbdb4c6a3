/** Status codes of a WebSocket's closing handshake. Source: RFC 6455 section 7.4.1. */
export const closing = {
  normal: 1000,
  unsupportedData: 1003,
  invalidData: 1007,
  policy: 1008,
  tooLarge: 1009,
  internalError: 1011,
  restart: 1012,
  tryLater: 1013,
} as const
export type ClosingCode = (typeof closing)[keyof typeof closing]
