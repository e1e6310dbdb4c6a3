/** A catalogue with a model that makes videos, `film`, at a tenth of a dollar a second. */
export const withFilm = (catalogue: string): string =>
  catalogue
    .replace("models:\n", "models:\n  - { handle: film, kind: video, targets: [{ vendor: openai, model: sora-2 }] }\n")
    .replace(
      "prices:\n",
      'prices:\n  - { model: film, currency: USD, dims: { video_seconds: "100000" }, from: 2026-01-01 }\n',
    )
    .replace("models: [main,", "models: [film, main,")
