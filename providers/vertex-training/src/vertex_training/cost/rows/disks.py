"""Prices of disks, in USD for a GB and a month.

Source: google-cloud-pricing-cost-calculator (github.com/Cyclenerd/google-cloud-pricing-cost-calculator,
pricing.yml, Apache License 2.0), which reads Compute Engine's prices from Google's Cloud Billing catalog.
Vertex AI bills a boot disk at this price with its fee: 0.17 USD with 15 % is 0.1955 USD for a month, or
0.0002678 for an hour, as in the billing report of `accelerators`. It counts 730 hours in a month. Jobs on
demand are not billed for local SSDs; Spot and Flex-start are, by Compute Engine.
"""

from __future__ import annotations

from vertex_training.cost.rows.accelerators import BILL, BILL_DATE, CALCULATOR, CALCULATOR_DATE
from vertex_training.cost.rows.text import Rows

DISKS = Rows(
    source=CALCULATOR,
    date=CALCULATOR_DATE,
    hours=730,
    text="""
pd-ssd, on_demand: africa-south1 0.22236, asia-east1 0.17, asia-east2 0.187, asia-northeast1 0.221,
  asia-northeast2 0.221, asia-northeast3 0.221, asia-south1 0.204, asia-south2 0.204,
  asia-southeast1 0.187, asia-southeast2 0.221, australia-southeast1 0.23, australia-southeast2 0.23,
  europe-central2 0.204, europe-north1 0.187, europe-southwest1 0.2006, europe-west1 0.17,
  europe-west12 0.204, europe-west2 0.204, europe-west3 0.204, europe-west4 0.187, europe-west6 0.221,
  europe-west8 0.1972, europe-west9 0.1972, me-central1 0.20655, me-central2 0.272, me-west1 0.187,
  northamerica-northeast1 0.187, northamerica-northeast2 0.187, southamerica-east1 0.255,
  southamerica-west1 0.2431, us-central1 0.17, us-east1 0.17, us-east4 0.187, us-east5 0.17,
  us-south1 0.2006, us-west1 0.17, us-west2 0.204, us-west3 0.204, us-west4 0.187
pd-standard, on_demand: africa-south1 0.05232, asia-east1 0.04, asia-east2 0.0498, asia-northeast1 0.052,
  asia-northeast2 0.052, asia-northeast3 0.052, asia-south1 0.048, asia-south2 0.048,
  asia-southeast1 0.044, asia-southeast2 0.052, australia-southeast1 0.054, australia-southeast2 0.054,
  europe-central2 0.048, europe-north1 0.044, europe-southwest1 0.0472, europe-west1 0.04,
  europe-west12 0.0516, europe-west2 0.048, europe-west3 0.048, europe-west4 0.044, europe-west6 0.052,
  europe-west8 0.0464, europe-west9 0.0464, me-central1 0.0486, me-central2 0.064, me-west1 0.044,
  northamerica-northeast1 0.044, northamerica-northeast2 0.044, southamerica-east1 0.06,
  southamerica-west1 0.0572, us-central1 0.04, us-east1 0.04, us-east4 0.044, us-east5 0.04,
  us-south1 0.0472, us-west1 0.04, us-west2 0.048, us-west3 0.048, us-west4 0.044
local-ssd, spot: africa-south1 0.0419, asia-east1 0.032, asia-east2 0.0352, asia-northeast1 0.0416,
  asia-northeast2 0.0416, asia-northeast3 0.0416, asia-south1 0.0384, asia-south2 0.0384,
  asia-southeast1 0.0616, asia-southeast2 0.0384, australia-southeast1 0.0405,
  australia-southeast2 0.0715, europe-central2 0.0382, europe-north1 0.0352, europe-southwest1 0.0378,
  europe-west1 0.032, europe-west12 0.0672, europe-west2 0.067, europe-west3 0.0493, europe-west4 0.0547,
  europe-west6 0.0416, europe-west8 0.0371, europe-west9 0.0371, me-central1 0.0507, me-central2 0.0484,
  me-west1 0.0352, northamerica-northeast1 0.0352, northamerica-northeast2 0.0352,
  southamerica-east1 0.048, southamerica-west1 0.0458, us-central1 0.032, us-east1 0.032, us-east4 0.0616,
  us-east5 0.032, us-south1 0.0623, us-west1 0.032, us-west2 0.0384, us-west3 0.0384, us-west4 0.0352
""",
)

FLEX_START = Rows(
    source=BILL, date=BILL_DATE, hours=730, text="local-ssd, flex_start: us-central1 0.08, us-west1 0.08"
)

TABLES = (DISKS, FLEX_START)
