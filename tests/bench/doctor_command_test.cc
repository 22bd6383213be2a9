#include "bench/doctor_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <system_error>

#include "bench/run_command.h"
#include "tests/loader/machine/kernel_tree.h"

namespace stoker {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class Doctor : public testing::Test {
 protected:
  // Runs over the made-up tree; what it prints is kept in `printed_`.
  int Run() {
    testing::internal::CaptureStdout();
    const int code = DoctorCommand(options_, tree_.root());
    printed_ = testing::internal::GetCapturedStdout();
    return code;
  }

  KernelTree tree_;
  DoctorOptions options_ = {.num_workers = 1, .device = "cpu"};
  std::string printed_;
};

TEST_F(Doctor, EndsWithOneWhereThereIsSomethingToMend) {
  tree_.Write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(printed_, HasSubstr("warning  clock        hpet"));
  EXPECT_THAT(printed_, HasSubstr("remedy: tsc"));
  EXPECT_THAT(printed_, HasSubstr("to mend\n"));
}

TEST_F(Doctor, EndsWithNoughtWhereAllIsWellOrUnknown) {
  const int code = Run();
  if (printed_.find("warning  io_uring") != std::string::npos) GTEST_SKIP() << "no io_uring here";
  EXPECT_EQ(code, kExitOk);
  EXPECT_THAT(printed_, HasSubstr("nothing to mend\n"));
}

TEST_F(Doctor, WritesJsonToAFileOrToStandardOutputAlone) {
  options_.path = tree_.root();
  tree_.Write("proc/self/mountinfo", "1 1 0:3 / / rw - nfs4 server:/x rw\n");
  options_.json = tree_.root() + "/overview.json";
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(printed_, HasSubstr("machine\n"));
  const nlohmann::json file = nlohmann::json::parse(std::ifstream(options_.json));
  options_.json = "-";
  EXPECT_EQ(Run(), 1);
  const nlohmann::json report = nlohmann::json::parse(printed_);
  EXPECT_EQ(report["schema_version"], 1);
  EXPECT_EQ(report["data_set"]["file_system"], "nfs4");
  EXPECT_EQ(file["data_set"]["source"], "server:/x");
  EXPECT_TRUE(report["memory"]["total_bytes"].is_null()) << "not known";
  EXPECT_TRUE(report["gpus"].is_array());
  bool found = false;
  for (const nlohmann::json& check : report["checks"]) {
    EXPECT_THAT(check["outcome"].get<std::string>(), AnyOf("ok", "warning", "unknown"));
    EXPECT_EQ(check["remedy"].is_null(), check["outcome"] != "warning");
    found = found || (check["name"] == "data set" && check["outcome"] == "warning");
  }
  EXPECT_TRUE(found);
}

TEST_F(Doctor, RefusesWhatIsWrong) {
  options_.device = "gpu0";
  EXPECT_THROW(Run(), std::invalid_argument);
  testing::internal::GetCapturedStdout();
  options_.device = "cpu";
  options_.path = tree_.root() + "/none";
  EXPECT_THROW(Run(), std::invalid_argument);
  testing::internal::GetCapturedStdout();
  options_.path = "";
  options_.json = tree_.root() + "/none/overview.json";
  EXPECT_THROW(Run(), std::system_error);
  testing::internal::GetCapturedStdout();
}

TEST(DoctorOptions, AreReadFromTheCommandLine) {
  CLI::App command;
  DoctorOptions options;
  AddDoctorOptions(command, options);
  command.parse("photos --num-workers 3 --device sim --json a.json");
  EXPECT_EQ(options.path, "photos");
  EXPECT_EQ(options.num_workers, 3);
  EXPECT_EQ(options.device, "sim");
  EXPECT_EQ(options.json, "a.json");
  EXPECT_THROW(command.parse("--num-workers -2"), CLI::ParseError);
  EXPECT_THROW(command.parse("--num-workers many"), CLI::ParseError);
}

}  // namespace
}  // namespace stoker
