-- The SHA-256 of the text that a revision was applied from: the same text again is not parsed again.
alter table catalogue_revisions add column source_sha256 bytea check (length(source_sha256) = 32);
