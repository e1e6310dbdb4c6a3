/** A real SMTP server on loopback that stores the mail it receives. */
import { SMTPServer } from "smtp-server"
import { eventually } from "./gateway.ts"

export interface Letter {
  readonly to: ReadonlyArray<string>
  readonly text: string
}

export const startSmtp = async () => {
  const letters: Array<Letter> = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: (stream, session, done) => {
      let text = ""
      stream.on("data", (chunk) => {
        text += chunk
      })
      stream.on("end", () => {
        letters.push({ to: session.envelope.rcptTo.map(({ address }) => address), text })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0

  const lettersTo = (email: string) => letters.filter(({ to }) => to.includes(email))
  return {
    url: `smtp://127.0.0.1:${port}`,
    letters,
    lettersTo,
    /** The code of the newest letter to an address, once there are `count` letters. */
    codeFor: async (email: string, count: number): Promise<string> => {
      await eventually(() => lettersTo(email).length >= count)
      return /\b\d{6}\b/.exec(lettersTo(email).at(-1)?.text ?? "")?.[0] ?? ""
    },
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
