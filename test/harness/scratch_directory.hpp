// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace tenure::test
{

/** A new directory that is gone, with all that is in it, when the object is. */
class ScratchDirectory
{
public:
    ScratchDirectory()
        : path_((std::filesystem::temp_directory_path() / "tenure-test-XXXXXX").string())
    {
        if (::mkdtemp(path_.data()) == nullptr)
            throw std::system_error(errno, std::generic_category(), "mkdtemp");
    }
    ScratchDirectory(ScratchDirectory const&) = delete;
    ScratchDirectory& operator=(ScratchDirectory const&) = delete;
    ~ScratchDirectory()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string const& path() const noexcept { return path_; }
    [[nodiscard]] std::string file(std::string const& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

} // namespace tenure::test
