/** An error for the client, with the body that this API has for errors. */
export class Rejection extends Error {
  readonly body: { code: string; message: string; status: number };

  constructor(status: number, code: string, message: string) {
    super(message);
    this.body = { code, message, status };
  }
}
