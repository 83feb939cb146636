/** What is noted of reads: by the console, under `/admin` and by agents; also those of front ends; or none. */
export const readAudits = ['admin', 'all', 'off'] as const;
export type ReadAudit = (typeof readAudits)[number];

/** The operations that show, copy or search what end users said. Tools of agents have the same names. */
const ofAdmins = [
  ...['getTranscript', 'listMessageDetails', 'listAllConversations', 'search', 'listReviews'],
  ...['exportRecords', 'exportMessages', 'exportEvals', 'listChanges'],
] as const;
const ofFrontEnds = ['getConversationHistory', 'searchUserMessages', 'openaiListItems', 'openaiGetItem'] as const;

export const auditedReads: Readonly<Record<ReadAudit, readonly string[]>> = {
  off: [],
  admin: ofAdmins,
  all: [...ofAdmins, ...ofFrontEnds],
};
