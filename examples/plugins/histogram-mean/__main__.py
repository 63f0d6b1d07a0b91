from dprelease import serve
from mechanism import HistogramMean

serve(HistogramMean())
