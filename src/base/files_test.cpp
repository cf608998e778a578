#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/hash.h"

namespace strop {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// An empty folder for one test.
class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = testing::TempDir() + "/strop_files_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Files() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  // Every entry of the folder: shows temporary files left behind.
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string folder_;
};

TEST_F(Files, MapsAndReadsWhatIsThere) {
  write("a", "some text");
  const auto file = MappedFile::open(path("a"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ((*file)->text(), "some text");
  EXPECT_EQ((*file)->size(), 9);
  EXPECT_EQ((*file)->path(), path("a"));
  EXPECT_EQ(read_file(path("a")).value(), "some text");
  fs::remove(path("a"));
  EXPECT_EQ((*file)->text(), "some text");  // the mapping outlives the name
}

TEST_F(Files, AnEmptyFileHasNoBytes) {
  write("a", "");
  EXPECT_EQ(MappedFile::open(path("a")).value()->size(), 0);
  EXPECT_EQ(read_file(path("a")).value(), "");
}

TEST_F(Files, ReadingErrorsNameFileAndCause) {
  const auto missing = MappedFile::open(path("none"));
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_EQ(missing.error().message, "cannot read '" + path("none") + "': No such file or directory");
  EXPECT_EQ(read_file(path("none")).error().code, ErrorCode::NotFound);
  EXPECT_EQ(MappedFile::open(folder_).error().message, "cannot read '" + folder_ + "': Is a directory");
  EXPECT_EQ(read_file(folder_).error().message, "cannot read '" + folder_ + "': Is a directory");
  EXPECT_EQ(MappedFile::open("/dev/null").error().message, "cannot read '/dev/null': not a regular file");
  // The name is wrong, not the disk: exit code 2 rather than 3.
  EXPECT_EQ(MappedFile::open(folder_).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(MappedFile::open("/dev/null").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(read_file(folder_).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(AtomicFileWriter::create(folder_).error().code, ErrorCode::InvalidArgument);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::open(path("pipe")).error().message, HasSubstr("not a regular file"));  // and does not wait
}

TEST_F(Files, ReadFileKeepsItsLimit) {
  EXPECT_EQ(read_file("/dev/zero", 10000).error().message, "cannot read '/dev/zero': more than 10000 bytes");
  write("a", std::string(10000, 'x'));
  EXPECT_EQ(read_file(path("a"), 10000).value().size(), 10000u);
  EXPECT_FALSE(read_file(path("a"), 9999).ok());
  EXPECT_EQ(read_file("/dev/null").value(), "");
  EXPECT_THAT(read_file("/proc/self/status").value(), HasSubstr("Name:"));  // says it has size 0
}

TEST_F(Files, WritesAppearCompleteUnderTheirName) {
  auto writer = AtomicFileWriter::create(path("a"));
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  const std::string large(1 << 20, 'x');
  ASSERT_TRUE(writer->append("head").ok());
  ASSERT_TRUE(writer->append(large).ok());
  ASSERT_TRUE(writer->append("tail").ok());
  EXPECT_EQ(writer->size(), (1 << 20) + 8);
  ASSERT_TRUE(writer->overwrite(1, bytes_of("EA")).ok());
  EXPECT_FALSE(fs::exists(path("a")));
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(read_file(path("a")).value(), "hEAd" + large + "tail");
  EXPECT_EQ(entries(), std::vector<std::string>{"a"});
}

TEST_F(Files, WithoutCommitTheOldContentsRemain) {
  write("a", "old");
  {
    auto writer = AtomicFileWriter::create(path("a")).value();
    ASSERT_TRUE(writer.append("new").ok());
    const AtomicFileWriter moved = std::move(writer);
    EXPECT_EQ(entries().size(), 2u);
  }
  EXPECT_EQ(read_file(path("a")).value(), "old");
  EXPECT_EQ(entries(), std::vector<std::string>{"a"});
}

TEST_F(Files, ReplacesAtomically) {
  write("a", "old and longer");
  const auto before = MappedFile::open(path("a")).value();
  const std::vector<std::span<const std::byte>> pieces = {bytes_of("ne"), bytes_of(""), bytes_of("w")};
  ASSERT_TRUE(write_file_atomically(path("a"), pieces).ok());
  EXPECT_EQ(read_file(path("a")).value(), "new");
  EXPECT_EQ(before->text(), "old and longer");  // a reader of the old file is not disturbed
  ASSERT_TRUE(write_file_atomically(path("empty"), "").ok());
  EXPECT_EQ(fs::file_size(path("empty")), 0u);
}

TEST_F(Files, ALinkKeepsPointingToItsTarget) {
  write("target", "old");
  fs::create_symlink("target", path("link"));
  ASSERT_TRUE(write_file_atomically(path("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")).value(), "new");
}

TEST_F(Files, NewFilesHaveTheUsualPermissions) {
  const mode_t mask = ::umask(0027);
  ASSERT_TRUE(write_file_atomically(path("a"), "x").ok());
  ::umask(mask);
  EXPECT_EQ(fs::status(path("a")).permissions(), static_cast<fs::perms>(0640));
}

TEST_F(Files, WritingErrorsNameFileAndCause) {
  const auto message = [](const std::string& where) { return write_file_atomically(where, "x").error().message; };
  EXPECT_EQ(message(path("none/a")), "cannot write '" + path("none/a") + "': No such file or directory");
  EXPECT_EQ(message(folder_), "cannot write '" + folder_ + "': Is a directory");
  EXPECT_EQ(message(path("new/")), "cannot write '" + path("new/") + "': Is a directory");
  EXPECT_EQ(message("/dev/full"), "cannot write '/dev/full': not a regular file");
  EXPECT_EQ(message(""), "cannot write a file without a name");
  EXPECT_TRUE(entries().empty());
}

TEST_F(Files, AFolderWithoutPermissionIsAnError) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(write_file_atomically(path("a"), "x").error().message, HasSubstr("Permission denied"));
  fs::permissions(folder_, fs::perms::owner_all);
}

// A limit on the size of files stands for a disk that fills up.
TEST_F(Files, AFullDiskLeavesTheOldFileAndNothingElse) {
  write("a", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto large = write_file_atomically(path("a"), std::string(1 << 20, 'x'));
  const auto gathered = write_file_atomically(path("a"), std::string(5000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::Io);
  EXPECT_EQ(large.error().message, "cannot write '" + path("a") + "': File too large");
  EXPECT_FALSE(gathered.ok());
  EXPECT_EQ(read_file(path("a")).value(), "old");
  EXPECT_EQ(entries(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace strop
