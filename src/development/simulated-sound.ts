/** The sound of the simulated vendor's voices: a tone for each word, and the level at which somebody speaks. */

export const samplesPerSecond = 24_000
/** The mean, of 32,768, above which somebody speaks. */
export const speechLevel = 600
/** The length of silence that ends a turn. */
export const silenceSeconds = 0.5
/** The time between two words. */
export const pauseMs = 40

/** The mean of the received sound. */
export const levelOf = (sound: Buffer): number => {
  let sum = 0
  const samples = Math.floor(sound.length / 2)
  for (let at = 0; at < samples; at++) sum += Math.abs(sound.readInt16LE(at * 2))
  return samples === 0 ? 0 : sum / samples
}

/** A tenth of a second of a tone, a step higher with each word. */
export const toneOf = (word: number): Buffer => {
  const hertz = 330 * 2 ** ((word % 8) / 12)
  const samples = samplesPerSecond / 10
  const tone = Buffer.alloc(samples * 2)
  for (let at = 0; at < samples; at++) {
    const fade = Math.min(1, at / 240, (samples - at) / 240)
    tone.writeInt16LE(Math.round(8000 * fade * Math.sin((2 * Math.PI * hertz * at) / samplesPerSecond)), at * 2)
  }
  return tone
}
