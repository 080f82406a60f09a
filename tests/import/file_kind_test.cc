// Which files a reader is asked for: by suffix, by what they begin with, and what is no model before anybody reads it.
#include "client/import/file_kind.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/folder.h"

namespace file_kind_test {

using namespace muster;

TEST_CASE("each format is known by what its files begin with, whatever they are called") {
  const std::pair<const char*, std::string> marks[] = {{"3mf", "PK\x03\x04"},
                                                       {"ac", "AC3D"},
                                                       {"amf", "<?xml"},
                                                       {"ase", "*3dsmax_asciiexport"},
                                                       {"assbin", "ASSIMP.binary"},
                                                       {"blend", "BLENDER"},
                                                       {"bvh", "HIERARCHY"},
                                                       {"cob", "Caligari "},
                                                       {"dae", "<?xml"},
                                                       {"dxf", "AutoCAD Binary DXF"},
                                                       {"fbx", "Kaydara FBX Binary"},
                                                       {"fbx", "; FBX "},
                                                       {"glb", "glTF"},
                                                       {"hmp", "HMP4"},
                                                       {"hmp", "HMP5"},
                                                       {"hmp", "HMP7"},
                                                       {"ifc", "ISO-10303-21"},
                                                       {"iqm", "INTERQUAKEMODEL"},
                                                       {"lwo", "FORM"},
                                                       {"lws", "LWSC"},
                                                       {"md2", "IDP2"},
                                                       {"md3", "IDP3"},
                                                       {"md5mesh", "MD5Version"},
                                                       {"mdc", "IDPC"},
                                                       {"mdl", "IDPO"},
                                                       {"ms3d", "MS3D000000"},
                                                       {"ndo", "nendo "},
                                                       {"off", "OFF"},
                                                       {"ogex", "Metric"},
                                                       {"ply", "ply"},
                                                       {"q3o", "quick3Do"},
                                                       {"q3s", "quick3Ds"},
                                                       {"sib", "HEAD"},
                                                       {"stl", "solid"},
                                                       {"ter", "TERRAGENTERRAIN"},
                                                       {"x", "xof "},
                                                       {"xgl", "<?xml"},
                                                       {"xgl", "<WORLD"}};
  for (const auto& [suffix, bytes] : marks) {
    CAPTURE(suffix, bytes);
    CHECK(reader_fits(suffix, {.name = "file", .head = bytes + " and more"}));
    CHECK(reader_fits("nothing " + std::string(suffix), {.name = "file", .head = bytes}));
    CHECK_FALSE(reader_fits(suffix, {.name = "file", .head = bytes.substr(0, bytes.size() - 1)}));
    CHECK_FALSE(reader_fits("nothing", {.name = "file", .head = bytes}));
  }
}

TEST_CASE("a suffix stands behind a dot at the end of a name that has more than it") {
  const auto fits = [](std::string suffixes, std::string name) {
    return reader_fits(suffixes, {.name = std::move(name), .head = "?"});
  };
  CHECK(fits("obj", "a.obj"));
  CHECK(fits("gltf  glb ", "a.glb"));
  CHECK(fits("gltf glb", "a.b.gltf"));
  for (const char* name : {"obj", ".ob", "aobj", "a.objx", "a.obj.txt", ""}) CHECK_FALSE(fits("obj", name));
  CHECK(fits("obj", ".obj"));
  CHECK_FALSE(fits("", "a.obj"));
  CHECK_FALSE(fits(" ", "a."));
}

TEST_CASE("a file's kind is its name in small letters and its first 4096 bytes, without a byte order mark") {
  const test::Folder folder;
  const FileKind kind = kind_of(folder.write("AZ.Obj", "\xef\xbb\xbf" + std::string(5000, 'x')));
  CHECK(kind.name == "az.obj");
  CHECK(kind.head == std::string(4093, 'x'));
  CHECK(kind_of(folder.write("b", "\xef\xbb")).head == "\xef\xbb");
  CHECK(kind_of(folder / "none").head.empty());
}

TEST_CASE("what is no model is told before a reader is asked") {
  const test::Folder folder;
  const auto why = [&](const std::string& name, const std::string& bytes) { return unfit(folder.write(name, bytes)); };
  CHECK(unfit(folder / "none.obj") == "there is no such file");
  CHECK(unfit(folder.path()) == "it is a folder, not a model file");
  CHECK(why("a.obj", "") == "the file is empty");
  CHECK(why("a.obj", "\xef\xbb\xbf") == "the file is empty");
  CHECK(why("a.obj", "v 1 2 3").empty());

  // glTF | version | bytes of the file
  const auto glb = [&](std::uint32_t said, std::size_t there) {
    std::string bytes = "glTF" + std::string("\2\0\0\0", 4);
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(said >> (8 * i));
    bytes.resize(there, 'x');
    return why("a.glb", bytes);
  };
  CHECK(glb(20, 20).empty());
  CHECK(glb(12, 12).empty());
  CHECK(glb(19, 20).empty());
  CHECK(glb(21, 20) == "the file is cut off: its header says 21 bytes, and it has 20");
  CHECK(glb(0x01020304, 300) == "the file is cut off: its header says 16909060 bytes, and it has 300");
  CHECK(glb(0xff000000, 300) == "the file is cut off: its header says 4278190080 bytes, and it has 300");
  CHECK(glb(21, 11).empty());  // no header at all: a reader says so

  for (const char* suffix : {"ac", "ase", "ask", "bvh", "csm", "dae", "enff", "gltf", "irr", "lws", "mot", "nff", "obj",
                             "off", "ogex", "smd", "vta", "x3d"}) {
    const std::string name = std::string("a.") + suffix;
    CAPTURE(name);
    for (const char byte : {'\x01', '\x08', '\x0e', '\x1b', '\x1f'})
      CHECK(why(name, std::string("text ") + byte) ==
            "a ." + std::string(suffix) + " file is text, and this one holds other bytes");
    CHECK(why(name, std::string("a\0b", 3)) ==
          "a ." + std::string(suffix) + " file is text, and this one holds other bytes");
    CHECK(why(name, "\t\n\v\f\r \x7f\x1a\xff").empty());
    for (const char* mark : {"\xff\xfe", "\xfe\xff"}) CHECK(why(name, mark + std::string("a\0b", 3)).empty());
    CHECK(why(name, "BLENDER\x01").empty());  // what it is, it says itself
  }
  CHECK(why("a.stl", std::string("a\0b", 3)).empty());
}

}  // namespace file_kind_test
