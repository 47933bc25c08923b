export const REPORT_FORMATS = ['csv', 'json', 'pdf'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

export const REPORT_STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled', 'expired'] as const;
export type ReportStatus = (typeof REPORT_STATUSES)[number];

export const REPORT_TYPES = ['sales', 'orders', 'products', 'users', 'notifications', 'usage'] as const;
export type ReportType = (typeof REPORT_TYPES)[number];
