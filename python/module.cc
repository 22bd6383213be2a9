// The Python module `stoker._core`: the loader as Python sees it. What users import is in python/stoker/.
#include <pybind11/pybind11.h>

#include "python/bindings.h"
#include "python/interrupt.h"
#include "python/python_error.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "Stoker's native part.";
  module.attr("__version__") = STOKER_VERSION;
  stoker::RegisterErrors();
  stoker::BindArray(module);
  stoker::BindBatch(module);
  stoker::BindRecipe(module);
  stoker::BindReport(module);
  stoker::BindOverview(module);
  stoker::BindStepReport(module);
  stoker::BindSource(module);
  stoker::BindLoader(module);
  stoker::BindForeignBatches(module);
  stoker::BindTuning(module);
  module.def("leave", &stoker::Leave);
}
