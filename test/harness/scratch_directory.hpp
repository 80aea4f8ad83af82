// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace tenure::test
{

/** A new directory that is gone, with all that is in it, when the object is. */
class ScratchDirectory : Immovable
{
public:
    /** Where the machine keeps temporary files; in its memory, if it has a place there: for servers that wait for the
     * disk on each write, which would otherwise be as fast as whatever else uses the disk lets them. */
    enum class Place { disk, memory };

    explicit ScratchDirectory(Place place = Place::disk)
        : path_((parent(place) / "tenure-test-XXXXXX").string())
    {
        if (::mkdtemp(path_.data()) == nullptr)
            throw std::system_error(errno, std::generic_category(), "mkdtemp");
    }
    ~ScratchDirectory()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string const& path() const noexcept { return path_; }
    [[nodiscard]] std::string file(std::string const& name) const { return path_ + "/" + name; }
    /** The text of a file in this directory; empty if the file does not exist. */
    [[nodiscard]] std::string text_of(std::string const& name) const
    {
        std::ostringstream text;
        text << std::ifstream(file(name)).rdbuf();
        return text.str();
    }

private:
    static std::filesystem::path parent(Place place)
    {
        std::error_code ignored;
        std::filesystem::path const memory = "/dev/shm";
        // TMPDIR is the user's choice and has precedence
        if (place == Place::memory && std::getenv("TMPDIR") == nullptr &&
            std::filesystem::is_directory(memory, ignored))
            return memory;
        return std::filesystem::temp_directory_path();
    }

    std::string path_;
};

} // namespace tenure::test
