/** A conversation with one message, as lines of records. */
export function firstRecords(
  app_id: string,
  { conversation, message }: Record<'conversation' | 'message', string>,
): string {
  const records = [
    { record: 'conversation', id: conversation, app_id, user: 'visitor-1' },
    {
      record: 'message',
      id: message,
      conversation_id: conversation,
      query: 'Hello?',
      answer: 'Hello! How can I help?',
    },
  ];
  return records.map((record) => JSON.stringify(record)).join('\n');
}

export const languages = ['curl', 'Python', 'TypeScript'] as const;
export type Language = (typeof languages)[number];

/** Sends records. Secrets and ids have no characters that a shell or a program interprets. */
export const sendCommands = (origin: string, secret: string, records: string): Record<Language, string> => ({
  curl: `curl -sS '${origin}/admin/records' -H "Authorization: Bearer ${secret}" \\
  -H 'Content-Type: application/x-ndjson' --data-binary '${records}'`,
  Python: `from urllib.request import Request, urlopen

records = '''${records}'''
headers = {"Authorization": "Bearer ${secret}", "Content-Type": "application/x-ndjson"}
print(urlopen(Request("${origin}/admin/records", records.encode(), headers)).read().decode())`,
  TypeScript: `const response = await fetch('${origin}/admin/records', {
  method: 'POST',
  headers: { authorization: 'Bearer ${secret}', 'content-type': 'application/x-ndjson' },
  body: \`${records}\`,
});
console.log(await response.text());`,
});
