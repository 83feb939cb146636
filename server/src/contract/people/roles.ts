/** What a person or an admin key may do, from least to most. A role allows what those before it allow, too. */
export const roles = ['viewer', 'editor', 'admin'] as const;
export type Role = (typeof roles)[number];

/**
 * The role that each operation needs, by its `operationId`. Routes, tools of agents, the OpenAPI document and the console use
 * this table. It imports nothing, since browsers load it.
 */
export const operationRoles = {
  getSession: 'viewer',
  listWorkspaces: 'viewer',
  getWorkspace: 'viewer',
  listApps: 'viewer',
  getApp: 'viewer',
  listModelProviders: 'viewer',
  listAllConversations: 'viewer',
  getConversation: 'viewer',
  getTranscript: 'viewer',
  locatePage: 'viewer',
  listMessageDetails: 'viewer',
  listUsers: 'viewer',
  search: 'viewer',
  countSearchResults: 'viewer',
  listWorstTexts: 'viewer',
  listDatasets: 'viewer',
  getDataset: 'viewer',
  listDocuments: 'viewer',
  getDocument: 'viewer',
  listSegments: 'viewer',
  getSegment: 'viewer',
  listChildChunks: 'viewer',
  getChildChunkAsAdmin: 'viewer',
  listRevisions: 'viewer',
  getOverview: 'viewer',
  getTraffic: 'viewer',
  getHealth: 'viewer',
  listFailures: 'viewer',
  getRetention: 'viewer',
  listActivity: 'viewer',
  listReviews: 'viewer',
  countReviews: 'viewer',
  listSavedViews: 'viewer',

  updateChildChunkAsAdmin: 'editor',
  putReview: 'editor',
  saveView: 'editor',
  deleteView: 'editor',

  createApp: 'admin',
  updateApp: 'admin',
  listKeys: 'admin',
  createKey: 'admin',
  updateKey: 'admin',
  rotateKey: 'admin',
  revokeKey: 'admin',
  listReads: 'admin',
  listPeople: 'admin',
  updatePerson: 'admin',
  endPersonSessions: 'admin',
  importRecords: 'admin',
  exportRecords: 'admin',
  exportMessages: 'admin',
  exportEvals: 'admin',
  listChanges: 'admin',
  purge: 'admin',
  deleteMessage: 'admin',
  metrics: 'admin',
} as const satisfies Record<string, Role>;

export type AdminOperation = keyof typeof operationRoles;

/** The role that an operation needs. One that is not in the table needs the highest. */
export const requiredRole = (operation: string): Role => {
  const table: Readonly<Record<string, Role>> = operationRoles;
  return Object.hasOwn(table, operation) ? (table[operation] ?? 'admin') : 'admin';
};

export const allows = (role: Role, operation: string): boolean =>
  roles.indexOf(role) >= roles.indexOf(requiredRole(operation));

/** What is noted of reads: by the console, under `/admin` and by agents; also those of front ends; or none. */
export const readAudits = ['admin', 'all', 'off'] as const;
export type ReadAudit = (typeof readAudits)[number];

/** The operations that show, copy or search what end users said. Tools of agents have the same names. */
const ofAdmins = [
  'getTranscript',
  'listMessageDetails',
  'listAllConversations',
  'search',
  'listReviews',
  'exportRecords',
  'exportMessages',
  'exportEvals',
  'listChanges',
] as const;
const ofFrontEnds = ['getConversationHistory', 'searchUserMessages', 'openaiListItems', 'openaiGetItem'] as const;

export const auditedReads: Readonly<Record<ReadAudit, readonly string[]>> = {
  off: [],
  admin: ofAdmins,
  all: [...ofAdmins, ...ofFrontEnds],
};
