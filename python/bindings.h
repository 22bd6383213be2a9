// The parts of the module `stoker._core`, each in the file of its name.
#pragma once

#include <pybind11/pybind11.h>

namespace stoker {

void BindArray(pybind11::module_& module);
void BindBatch(pybind11::module_& module);
void BindRecipe(pybind11::module_& module);
void BindReport(pybind11::module_& module);
void BindOverview(pybind11::module_& module);
void BindStepReport(pybind11::module_& module);
void BindSource(pybind11::module_& module);
void BindLoader(pybind11::module_& module);
void BindForeignBatches(pybind11::module_& module);
void BindTuning(pybind11::module_& module);

}  // namespace stoker
