"""Prices of accelerators: of one GPU, one core of a TPU v2 or v3, or one chip of a newer TPU.

Source: the catalog of SkyPilot, as in `machines`. Left out are its prices of A100, H100, H200 and B200
that are not those on demand: the catalog has the price of Flex-start, such as 4.200761 USD for an H100, in
the column of prices on demand for several regions, and Spot prices above them. Also left out are prices of 0
and of 700 USD, which stand for none. The prices of Flex-start were published with their SKUs in August 2025,
for the Americas: SKUs with that in their name are for us-central1, us-east1 and us-west1.
"""

from __future__ import annotations

from vertex_training.cost.rows.machines import CATALOG, CATALOG_DATE
from vertex_training.cost.rows.text import Rows

ACCELERATORS = Rows(
    source=CATALOG,
    date=CATALOG_DATE,
    text="""
NVIDIA_A100_80GB, on_demand: asia-southeast1 4.8460725, us-east5 4.4241975
NVIDIA_A100_80GB, spot: asia-southeast1 1.823, europe-west4 2.1626, us-central1 1.964, us-east4 1.7697,
  us-east5 1.3356
NVIDIA_H100_80GB, on_demand: asia-east1 11.34343, asia-northeast3 12.58073, asia-south1 10.18841,
  asia-south2 11.76664, europe-north1 10.78698, europe-west1 10.78698, europe-west2 11.16807,
  europe-west3 11.55993, europe-west4 12.73551625, europe-west9 11.364, us-east4 9.79655125,
  us-east5 11.03385
NVIDIA_H100_80GB, spot: asia-east1 2.8412, asia-northeast1 3.5578, asia-northeast3 2.4847,
  asia-south1 2.33, asia-south2 2.6909, asia-southeast1 3.0441, australia-southeast1 3.0671,
  europe-north1 1.3369, europe-west1 2.467, europe-west2 1.384, europe-west3 2.6437, europe-west4 2.9112,
  europe-west9 2.7169, northamerica-northeast2 1.9416, us-central1 2.9926, us-east4 2.2356,
  us-east5 2.4081, us-west1 2.9926, us-west4 2.5227
NVIDIA_H100_MEGA_80GB, on_demand: australia-southeast1 12.93034, europe-west4 13.44756,
  us-central1 10.34427625, us-east4 10.34428, us-west1 10.34427625, us-west4 11.65076
NVIDIA_H100_MEGA_80GB, spot: asia-northeast1 2.3914, asia-southeast1 3.2152, australia-southeast1 2.6952,
  europe-west1 2.6044, europe-west3 2.1968, europe-west4 3.0754, us-central1 3.1601, us-east4 1.8619,
  us-east5 2.258, us-west1 3.1601, us-west4 2.0971
NVIDIA_H200_141GB, on_demand: us-central1 9.31174, us-east4 9.31174, us-west1 9.31174
NVIDIA_H200_141GB, spot: asia-south1 4.8421, europe-west1 5.1266, europe-west4 4.8887, us-central1 4.6559,
  us-east4 3.6567, us-south1 5.4939, us-west1 4.6559
NVIDIA_L4, on_demand: asia-east1 0.64847, asia-northeast1 0.71920375, asia-northeast3 0.71920375,
  asia-south1 0.58297625, asia-southeast1 0.69092125, europe-west1 0.61666, europe-west2 0.63765375,
  europe-west3 0.6608475, europe-west4 0.5880425, europe-west6 0.78344, me-central2 0.896065,
  northamerica-northeast1 0.61666, northamerica-northeast2 0.61666, us-central1 0.56004, us-east1 0.56004,
  us-east4 0.55820625, us-west1 0.56004, us-west4 0.63077375
NVIDIA_L4, spot: asia-east1 0.2311, asia-northeast1 0.3564, asia-northeast3 0.1555, asia-south1 0.2321,
  asia-southeast1 0.2478, europe-west1 0.2406, europe-west2 0.2847, europe-west3 0.3201,
  europe-west4 0.2438, europe-west6 0.1982, me-central2 0.3895, northamerica-northeast1 0.2521,
  northamerica-northeast2 0.2298, us-central1 0.2231, us-east1 0.2231, us-east4 0.2233, us-west1 0.2231,
  us-west4 0.2103
NVIDIA_TESLA_A100, on_demand: me-west1 3.22729875, us-central1 2.93390812, us-east1 2.93390812,
  us-west1 2.93390812, us-west3 3.43686375, us-west4 3.10156
NVIDIA_TESLA_A100, spot: asia-northeast1 1.2307, asia-northeast3 1.2406, asia-southeast1 1.4261,
  europe-west4 1.1691, me-west1 1.058, us-central1 1.4341, us-east1 1.4341, us-west1 1.4341,
  us-west3 1.5648, us-west4 1.2406
NVIDIA_TESLA_P100, on_demand: asia-east1 1.6, australia-southeast1 1.6, europe-west1 1.6,
  europe-west4 1.533, us-central1 1.46, us-east1 1.46, us-west1 1.46
NVIDIA_TESLA_P100, spot: asia-east1 0.144, australia-southeast1 0.2839, europe-west1 0.2816,
  europe-west4 0.2341, us-central1 0.7034, us-east1 0.7034, us-west1 0.7034
NVIDIA_TESLA_P4, on_demand: asia-southeast1 0.65, australia-southeast1 0.65, europe-west4 0.63,
  northamerica-northeast1 0.65, us-central1 0.6, us-east4 0.6, us-west2 0.72
NVIDIA_TESLA_P4, spot: asia-southeast1 0.0585, australia-southeast1 0.075, europe-west4 0.132,
  northamerica-northeast1 0.0738, us-central1 0.2236, us-east4 0.1734, us-west2 0.0794
NVIDIA_TESLA_T4, on_demand: asia-east1 0.35, asia-east2 0.44, asia-northeast1 0.37, asia-northeast3 0.37,
  asia-south1 0.41, asia-southeast1 0.37, asia-southeast2 0.4033, australia-southeast1 0.44,
  europe-central2 0.41, europe-west1 0.35, europe-west2 0.399, europe-west3 0.41, europe-west4 0.3675,
  me-west1 0.385, northamerica-northeast1 0.385385, southamerica-east1 0.48, us-central1 0.35,
  us-east1 0.35, us-east4 0.37, us-west1 0.35, us-west2 0.420735, us-west3 0.420735, us-west4 0.37
NVIDIA_TESLA_T4, spot: asia-east1 0.1383, asia-east2 0.2004, asia-northeast1 0.1311,
  asia-northeast3 0.1539, asia-south1 0.1701, asia-southeast1 0.1645, asia-southeast2 0.1854,
  australia-southeast1 0.1746, europe-central2 0.164, europe-west1 0.14, europe-west2 0.1181,
  europe-west3 0.164, europe-west4 0.175, me-west1 0.1093, northamerica-northeast1 0.1868,
  southamerica-east1 0.2329, us-central1 0.175, us-east1 0.175, us-east4 0.1644, us-west1 0.175,
  us-west2 0.164, us-west3 0.1195, us-west4 0.1258
NVIDIA_TESLA_V100, on_demand: asia-east1 2.48, europe-west4 2.604, us-central1 2.48, us-east1 2.48,
  us-west1 2.48
NVIDIA_TESLA_V100, spot: asia-east1 0.6356, europe-west4 1.0443, us-central1 1.0885, us-east1 1.0885,
  us-west1 1.0885
TPU_V2, on_demand: asia-east1 0.6525, europe-west4 0.61875, us-central1 0.5625
TPU_V2, spot: asia-east1 0.19575, europe-west4 0.15778125, us-central1 0.16875
TPU_V3, on_demand: europe-west4 1.1, us-central1 1, us-east1 1
TPU_V3, spot: europe-west4 0.2805, us-central1 0.255
TPU v5e chip, on_demand: asia-east1 1.38948, asia-northeast1 1.54104, asia-southeast1 1.56,
  europe-north1 1.32132, europe-west1 1.32132, europe-west3 1.416, europe-west4 1.56,
  northamerica-northeast1 1.32132, southamerica-west1 1.716, us-central1 1.2, us-east1 1.2, us-east4 1.2,
  us-east5 1.2, us-south1 1.416, us-west1 1.2, us-west4 1.2
TPU v5e chip, spot: asia-east1 0.5557925, asia-northeast1 0.4244025, asia-southeast1 0.78,
  europe-north1 0.66066, europe-west1 0.5285275, europe-west3 0.38996625, europe-west4 0.4449825,
  northamerica-northeast1 0.3638925, southamerica-west1 0.47258625, us-central1 0.24492625,
  us-east1 0.24492625, us-east4 0.6, us-east5 0.6, us-south1 0.5664, us-west1 0.24492625, us-west4 0.48
TPU v6e chip, on_demand: asia-northeast1 3.24, asia-south1 3.24, asia-southeast1 2.97, europe-west4 2.97,
  southamerica-west1 2.7, us-central1 2.7, us-east1 2.7, us-east4 2.7, us-east5 2.7, us-south1 2.7,
  us-west1 2.7
TPU v6e chip, spot: asia-northeast1 0.9435175, asia-south1 2.27, asia-southeast1 0.36292375,
  europe-west4 1.03747625, us-central1 0.5442075, us-east1 0.5442075, us-east4 0.5776625, us-east5 1.215,
  us-south1 1.35, us-west1 0.5442075
""",
)

CALCULATOR = "google-cloud-pricing-cost-calculator, pricing.yml"
CALCULATOR_DATE = "2025-03-06"

LESS_MACHINE = Rows(
    source=f"{CALCULATOR}: a2-highgpu-1g less its vCPUs and memory",
    date=CALCULATOR_DATE,
    derived=True,
    text="""
NVIDIA_TESLA_A100, on_demand: asia-northeast1 3.10155993, asia-northeast3 3.10155993,
  asia-southeast1 3.10156093, europe-west4 2.933908
""",
)

PAGE = Rows(
    source=f"Vertex AI pricing page, read on {CATALOG_DATE}",
    date=CATALOG_DATE,
    text="NVIDIA_H100_80GB, on_demand: us-central1 9.79655057",
)

BILL = "Billing report with SKUs of Vertex AI and Compute Engine (Google Cloud Japan, DWS prices)"
BILL_DATE = "2025-08-16"

FLEX_START = Rows(
    source=BILL,
    date=BILL_DATE,
    text="""
NVIDIA_H100_80GB, flex_start: us-central1 4.200761
a3 core, flex_start: us-central1 0.010934
a3 ram, flex_start: us-central1 0.000952
NVIDIA_H100_80GB, fee: us-central1 1.4694826
a3 core, fee: us-central1 0.0038247
a3 ram, fee: us-central1 0.0003331
""",
)

FLEX_START_OF_AMERICAS = Rows(
    source=f"{BILL}: the price of the Americas",
    date=BILL_DATE,
    derived=True,
    text="""
NVIDIA_H100_80GB, flex_start: us-west1 4.200761
a3 core, flex_start: us-west1 0.010934
a3 ram, flex_start: us-west1 0.000952
""",
)

TABLES = (ACCELERATORS, LESS_MACHINE, PAGE, FLEX_START, FLEX_START_OF_AMERICAS)
