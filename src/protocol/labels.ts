/** The names of the protocol on the wire. */

/** The protocol, as the handshake and `t.open` name it. */
export const protocolLabel = "twp/1"

/** The subprotocol of `/t1/socket`. */
export const socketProtocol = "twp.1"
