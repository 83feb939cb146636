export const skippedFile = 'skipped.ndjson';
export const followSeconds = '5';

export const difyHelp = `Usage: backscroll import --from-dify [URL] [OPTIONS]

Imports from the PostgreSQL database of a Dify installation: DIFY_DATABASE_URL, or URL. It only reads that database. A
later run imports what has changed; a run that was interrupted continues. What was changed in Backscroll is kept,
and what was deleted in Dify is marked as deleted in Backscroll. Exits with 3 if something was skipped:
${skippedFile} lists it, with the reasons.

Options:
  --verify             write nothing; compare everything with what is stored, and print what differs. Exits with 1 if something does
  --dry-run            write nothing; print what would be imported and skipped
  --strict             stop at the first record, or part of one, that cannot be imported
  --workspace ID       only this workspace; may be repeated
  --app ID             only this app, without knowledge bases; may be repeated
  --since TIME         only conversations created or updated since then: 2026-01-31 or 2026-01-31T12:00:00Z
  --no-keys            no new API keys; keys that were imported before are still revoked
  --console            also test chats of Dify's console
  --files-base URL     replaces scheme and host in links to files
  --dify-url URL       also model providers, from the API of the installation with the knowledge keys in DIFY_API_KEY
  --force              also overwrite names, deletions, feedback and texts that were changed in Backscroll; never revocations
  --follow [SECONDS]   keep running, and look for changes every ${followSeconds} seconds, until SIGINT or SIGTERM`;
