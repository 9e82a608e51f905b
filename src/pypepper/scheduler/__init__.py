"""Task → Workflow → Job → Channel → Worker, with snapshots of jobs in a store."""
